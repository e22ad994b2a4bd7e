// What the form computes, held against values worked by hand: `node --test tests/reports/form.test.js`.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as form from "../../src/steelyard/reports/form/computing.js";

const items = ["a", "b", "c", "__proto__"].map((item_id) => ({ item_id }));
const VERDICTS = { kind: "verdicts", review_id: "r1", items };
const GRADES = { kind: "grades", review_id: "r2", items, scale: [[0, "no"], [9, ""], [10, "yes"], [0.5, ""], [-1, "wrong"]] };
const QUOTES = { kind: "quotes", review_id: "r3", items };
const label = (name, date = "2026-01-01", note = "") => ({ label: name, note, date });

test("every choice has keys of its own", () => {
  const keys = (of) => form.choicesOf(of).map((choice) => [choice.name, choice.keys.join("")]);
  assert.deepEqual(keys(VERDICTS), [["supported", "1s"], ["contradicted", "2c"], ["not_found", "3n"], ["cannot_say", "4?"]]);
  assert.deepEqual(keys(GRADES), [["0", "0"], ["9", "9"], ["10", "t"], ["0.5", "e"], ["-1", "w"], ["cannot_say", "?"]]);
  assert.deepEqual(keys(QUOTES), [["none", "0"], ["cannot_say", "?"]]);
  const scale = Array.from({ length: 60 }, (_, grade) => [grade, ""]);
  const all = form.choicesOf({ ...GRADES, scale }).flatMap((choice) => choice.keys);
  assert.equal(new Set([...all, ..."jkumfvqx/"]).size, all.length + 9);
});

test("a decision is a choice, and a note alone is none", () => {
  const choices = [label("supported"), { grade: 0 }, { grade: 0.5 }, { quotes: [] }, { quotes: [{}] }, { note: "?" }, undefined];
  assert.deepEqual(choices.map(form.choiceOf), ["supported", "0", "0.5", "none", "quotes", null, null]);
  assert.deepEqual(form.decided({ label: "supported", note: "why" }, { label: "not_found" }, "d"), label("not_found", "d", "why"));
});

test("items are counted by what is decided", () => {
  const decisions = new Map([["a", label("supported")], ["b", { note: "hm" }], ["__proto__", label("supported")], ["gone", label("not_found")]]);
  assert.deepEqual([...form.countsOf(items, decisions)], [["open", 2], ["supported", 2]]);
  assert.equal(form.unfiled(items, decisions, "2025"), 2);
  assert.equal(form.unfiled(items, decisions, "2026-01-01"), 0);
});

test("the way leads to what fits, and around once", () => {
  const even = (place) => place % 2 === 0;
  assert.equal(form.nextPlace(5, 0, 1), 1);
  assert.equal(form.nextPlace(5, 4, 1), null);
  assert.equal(form.nextPlace(5, 0, -1), null);
  assert.equal(form.nextPlace(5, 0, 1, even), 2);
  assert.equal(form.nextPlace(5, 4, -1, even), 2);
  assert.equal(form.nextOpen(5, 4, even), 0);
  assert.equal(form.nextOpen(5, 1, (place) => place === 1), 1);
  assert.equal(form.nextOpen(5, 1, () => false), null);
});

test("what is saved is read back, and nothing else", () => {
  const decisions = new Map([["c", label("not_found", "2026-01-02", "no \u2028 </script>")], ["a", label("cannot_say")], ["b", { note: "later", date: "2026" }]]);
  decisions.set("__proto__", label("supported")).set("elsewhere", label("supported"));
  const file = form.fileOf(VERDICTS, "ann", decisions, "2026-01-03");
  assert.deepEqual(file.decisions.map(({ item_id }) => item_id), ["a", "c", "__proto__"]);
  assert.deepEqual(file.notes, [{ item_id: "b", note: "later", date: "2026" }]);
  assert.deepEqual([file.format, file.version, file.rater, file.n_items], ["steelyard-review", 1, "ann", 4]);
  const back = form.readFile(JSON.stringify(file), VERDICTS);
  decisions.delete("elsewhere");
  assert.deepEqual([back.rater, back.leftOut], ["ann", 0]);
  assert.deepEqual(new Map([...back.decisions].sort()), new Map([...decisions].sort()));
});

test("files of something else are refused", () => {
  const file = form.fileOf(VERDICTS, "ann", new Map(), "2026");
  const problem = (changes, of = VERDICTS) => form.readFile(JSON.stringify({ ...file, ...changes }), of).problem;
  assert.equal(problem({}), undefined);
  assert.equal(form.readFile("{", VERDICTS).problem, "json");
  assert.equal(form.readFile("null", VERDICTS).problem, "format");
  assert.equal(problem({ format: "other" }), "format");
  assert.equal(problem({ version: 2 }), "version");
  assert.equal(problem({ review_id: "r9" }), "review_id");
  assert.equal(problem({ kind: "grades" }), "kind");
  assert.equal(problem({ rater: " " }), "json");
  assert.equal(problem({ decisions: {} }), "json");
});

test("entries that a form cannot make are left out, and counted", () => {
  const read = (of, rows) => {
    const file = { ...form.fileOf(of, "ann", new Map(), "2026"), decisions: rows };
    const { decisions, leftOut } = form.readFile(JSON.stringify(file), of);
    return [decisions.size, leftOut];
  };
  assert.deepEqual(read(VERDICTS, [{ item_id: "a", label: "supported" }, { item_id: "b", label: "true" }, { item_id: "z", label: "supported" }, null, 3, {}]), [1, 5]);
  assert.deepEqual(read(GRADES, [{ item_id: "a", grade: 9 }, { item_id: "b", grade: 5 }, { item_id: "c", label: "cannot_say" }, { item_id: "c", label: "supported" }]), [2, 2]);
  const quote = { doc: "d", start: 0, end: 2, quote: "ab" };
  assert.deepEqual(read(QUOTES, [{ item_id: "a", quotes: [quote] }, { item_id: "b", quotes: [] }, { item_id: "c", quotes: [{ ...quote, end: 0 }] }, { item_id: "c", quotes: 3 }]), [2, 2]);
});

test("of two decisions about one item the later one counts", () => {
  const own = new Map([["a", label("supported", "2026-02")], ["b", label("supported", "2026-02")]]);
  const others = new Map([["a", label("not_found", "2026-01")], ["b", label("not_found", "2026-03")], ["c", label("cannot_say")]]);
  const names = [...form.merged(own, others)].map(([id, decision]) => `${id} ${decision.label}`);
  assert.deepEqual(names, ["a supported", "b not_found", "c cannot_say"]);
});

test("texts are shown with one character for each", () => {
  const others = { "\u0000": "␀", "\u202e": "\ufffd", "\r": " " };
  assert.equal(form.shown("plain 仓", others), "plain 仓");
  assert.equal(form.shown("\u0000a\u202eb\r", others), "␀a\ufffdb ");
});

test("quotes count code points, and end where their words do", () => {
  const text = "😀 𠮷野。 领导在。";
  assert.deepEqual(form.quoteOf(text, 2, text.indexOf("。") + 2), { start: 2, end: 5, quote: "𠮷野。" });
  assert.deepEqual(form.quoteOf(text, 0, text.length), { start: 0, end: 10, quote: text });
  assert.equal(form.quoteOf(text, 2, 3), null);
  assert.equal(form.quoteOf("", 0, 0), null);
});

test("quotes that overlap become one", () => {
  const text = "0123456789";
  const quote = (doc, start, end) => ({ doc, start, end, quote: text.slice(start, end) });
  const some = [quote("a", 0, 2), quote("a", 5, 7), quote("b", 1, 3)];
  const add = (quotes, added) => form.withQuote(quotes, added, text, ["a", "b"]);
  assert.deepEqual(add(some, quote("a", 2, 5)), [quote("a", 0, 2), quote("a", 2, 5), quote("a", 5, 7), quote("b", 1, 3)]);
  assert.deepEqual(add(some, quote("a", 1, 6)), [quote("a", 0, 7), quote("b", 1, 3)]);
  assert.deepEqual(add([], quote("a", 1, 2)), [quote("a", 1, 2)]);
});

test("sentences are selected one after another", () => {
  const text = "One. Two is here!\n\n仓库九点开门。周末休息。 ";
  const sentences = form.sentencesOf(text, "en");
  assert.deepEqual(sentences.map(([from, to]) => text.slice(from, to)), ["One.", "Two is here!", "仓库九点开门。", "周末休息。"]);
  assert.deepEqual(form.sentencesOf(" \n", "zh"), []);
  assert.deepEqual(form.stepped(sentences, [1, 1], 1, false), [2, 2]);
  assert.deepEqual(form.stepped(sentences, [1, 1], 1, true), [1, 2]);
  assert.deepEqual(form.stepped(sentences, [1, 3], -1, true), [1, 2]);
  assert.deepEqual(form.stepped(sentences, [3, 3], 1, true), [3, 3]);
});

test("a text is cut at marks and at likely sentences, by code points", () => {
  const parts = form.layers("😀one two three", [[1, 4]], [[0, 8], [9, 99]]).map(({ text, isMarked, isLikely }) => [text, isMarked, isLikely]);
  assert.deepEqual(parts, [["😀", false, true], ["one", true, true], [" two", false, true], [" ", false, false], ["three", false, true]]);
  assert.deepEqual(form.layers("", [], []), []);
});
