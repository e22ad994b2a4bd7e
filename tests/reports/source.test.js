// Where pages read questions from and keep decisions: `node --test tests/reports/source.test.js`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inlinedForm } from "../../src/steelyard/reports/form/source.js";
import { inlinedReport } from "../../src/steelyard/reports/page/source.js";

const bytes = (...numbers) => ({ bits: 8, data: Buffer.from(numbers).toString("base64") });
const values = (...numbers) => ({ low: 0, decimals: 1, data: Buffer.from(new Uint16Array(numbers).buffer).toString("base64") });

const DATA = {
  systems: ["a", "b"], measures: ["mrr"], tag_names: ["fees"], order: [1, 0], depth: 2, k: 1, n_questions: 2,
  ids: ["q0", "q1"], queries: ["Who?", "When?"], tags: [[0], []], expected: null,
  values: [values(10, 5, 0, 65535)], status: bytes(0, 0, 0, 1), stage: bytes(0, 1, 2, 3), answer: { 1: bytes(4, 5) },
  gold: [[["quote", 1, null, "d", "", "text"]], []], gold_more: { 1: 7 },
  list_n: bytes(2, 0, 1, 1), list_entry: bytes(0, 1, 1, 0), list_gain: bytes(1, 0, 0, 1), gains: [null, 1],
  chunk_ids: ["c0", "c1"], chunk_texts: ["text", null], chunk_docs: [0, -1], doc_names: ["d"], marks: { 0: { 0: [0, 2] } },
  of: [
    { evidence: true, answers: { 0: "So." }, failures: {}, judged: {}, lost: { 1: [0] } },
    { evidence: false, answers: {}, failures: { 1: "late" }, judged: { 0: { labels: [] } }, lost: {} },
  ],
};

test("the source of a report lists its questions, and has each of them in full", async () => {
  const source = inlinedReport(DATA);
  assert.deepEqual(Object.keys(source.about), ["systems", "measures", "tag_names", "order", "depth", "k", "n_questions"]);
  const list = source.list();
  assert.deepEqual([list.n, list.ids, list.tags], [2, ["q0", "q1"], [[0], []]]);
  assert.deepEqual([0, 1].map((q) => list.columns[0].value(1, q)), [0, null]);
  assert.deepEqual([list.status(1, 1), list.stage(1, 0), list.answer(1, 1), list.answer(0, 1)], [1, 2, 5, undefined]);
  const question = await source.question(0);
  assert.deepEqual([question.id, question.query, question.gold.length, question.more], ["q0", "Who?", 1, undefined]);
  const [first, second] = question.systems;
  assert.deepEqual(first.list, [
    { entry: 0, id: "c0", doc: "d", text: "text", marks: [0, 2], gain: 1 },
    { entry: 1, id: "c1", doc: undefined, text: null, marks: [], gain: null },
  ]);
  assert.deepEqual([first.values, first.answer, first.judged, first.hasEvidence], [["1.0"], "So.", undefined, true]);
  assert.deepEqual([second.judged, second.failure, second.lost], [{ labels: [] }, undefined, []]);
  const other = await source.question(1);
  assert.deepEqual([other.more, other.systems[0].lost, other.systems[1].failure], [7, [0], "late"]);
});

test("texts that are not known are none", async () => {
  const [first] = (await inlinedReport({ ...DATA, chunk_texts: null, chunk_docs: null }).question(0)).systems;
  assert.deepEqual(first.list.map(({ text, doc }) => [text, doc]), [[undefined, undefined], [undefined, undefined]]);
});

test("the source of a form has its items in full, and keeps decisions by review and rater", async () => {
  const store = new Map();
  const area = () => ({ setItem: (key, text) => store.set(key, text), getItem: (key) => store.get(key) ?? null });
  const row = { item_id: "i", query: 0, premises: [["d", 1]], hypothesis: 2, answer: 2, judged: null, span: [0, 1] };
  const data = { kind: "verdicts", review_id: "r1", title: "T", items: [row], texts: ["Who?", "text", ""] };
  const source = inlinedForm(data, area);
  assert.deepEqual(source.about, { kind: "verdicts", review_id: "r1", title: "T" });
  assert.deepEqual(source.list(), [{ item_id: "i", isJudged: false }]);
  const item = await source.question(0);
  assert.deepEqual([item.query, item.premises, item.hypothesis, item.span], ["Who?", [["d", "text"]], "", [0, 1]]);
  assert.deepEqual([source.kept("ann"), source.keep("ann", "{}"), source.kept("ann"), source.kept("bob")], [null, true, "{}", null]);
  assert.equal(inlinedForm({ ...data, review_id: "r2" }, area).kept("ann"), null);
  const barred = inlinedForm(data, () => { throw new Error("no storage"); });
  assert.deepEqual([barred.keep("ann", "{}"), barred.kept("ann")], [false, undefined]);
});
