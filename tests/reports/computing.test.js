// What the page computes, held against values worked by hand: `node --test tests/reports/computing.test.js`.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as page from "../../src/steelyard/reports/page/computing.js";

const PAGE = {
  ids: ["q1", "q&a"],
  systems: ["a/b", "b", "=c"],
  measures: ["ndcg@3", "recall(min_gain=2)@3"],
  tag_names: ["en", "fees, late"],
  outcomes: ["", "stage:6", "status:1"],
  order: [2, 0, 1],
  sections: ["leaderboard", "questions"],
  pair: [0, 2],
  has_outcomes: true,
};
const base64 = (numbers) => Buffer.from(numbers.buffer).toString("base64");

test("long texts are cut to one line of the size", () => {
  assert.equal(page.shortened("a\n\n b\tc", 5), "a b c");
  assert.equal(page.shortened("abcdef", 5), "abcd…");
  assert.equal(page.shortened("abcde", 5), "abcde");
});

test("an address and the view that it names are one", () => {
  const first = page.firstView(PAGE);
  assert.deepEqual(first.systems, [2, 0, 1]);
  assert.equal(page.addressOf(first, PAGE), "");
  assert.deepEqual(page.viewAt("", PAGE), first);
  const view = {
    ...first,
    search: "late fees & <b>",
    tag: "1",
    outcome: "stage:6",
    system: 1,
    measure: null,
    systems: [0, 1],
    hidden: ["spread"],
    sort: { column: "1/0", down: true },
    question: 1,
    pair: [0, 0],
  };
  assert.deepEqual(page.viewAt("#leaderboard", PAGE), { ...first, section: "leaderboard" });
  const placed = page.addressOf({ ...view, section: "leaderboard" }, PAGE);
  assert.match(placed, /^#leaderboard&question=/);
  assert.deepEqual(page.viewAt(placed, PAGE), { ...view, section: "leaderboard" });
  const address = page.addressOf(view, PAGE);
  assert.match(address, /^#question=q%26a&beside=a\/b&beside=a\/b&search=late\+fees/);
  assert.deepEqual(page.viewAt(address, PAGE), view);
  for (const part of [{ systems: [] }, { sort: { column: "spread", down: true } }, { sort: { column: "id", down: false } }]) {
    assert.deepEqual(page.viewAt(page.addressOf({ ...first, ...part }, PAGE), PAGE), { ...first, ...part });
  }
});

test("an address of something else is no view, and what there is not is passed over", () => {
  assert.equal(page.viewAt("#main", PAGE), null);
  const first = page.firstView(PAGE);
  for (const hash of [
    "#",
    "#question=q3",
    "#question=__proto__&beside=constructor&beside=b",
    "#question=%E0%A4%A&sort=%FF",
    "#sort=-ndcg@3/nobody&measure=<script>&tag=toString&outcome=stage:99&of=x&system=x&hide=question",
    "#sort=0/1&=&==&&&",
    "#beside=b",
  ]) {
    assert.deepEqual(page.viewAt(hash, PAGE), first, hash);
  }
});

test("many systems are a choice of the best and the baseline; one system shows all measures", () => {
  const order = [8, 7, 6, 5, 4, 3, 2, 1, 0];
  const many = { ...PAGE, systems: order.map(String), order, pair: [1, 8] };
  assert.deepEqual(page.firstView(many).systems, [8, 7, 6, 5, 4, 3, 1]);
  const alone = { ...PAGE, systems: ["a"], order: [0], pair: null };
  const view = page.firstView(alone);
  assert.deepEqual([view.measure, view.pair], [null, [0]]);
  assert.deepEqual(page.columnsOf(view, alone), ["0/0", "1/0", "outcome"]);
});

test("columns are those of the systems and measures, and what is not hidden", () => {
  const view = { ...page.firstView(PAGE), systems: [2, 0] };
  assert.deepEqual(page.columnsOf(view, PAGE), ["0/2", "0/0", "spread", "outcome"]);
  assert.deepEqual(page.columnsOf({ ...view, measure: null, hidden: ["outcome"] }, PAGE), ["0/2", "1/2", "0/0", "1/0", "spread"]);
  assert.deepEqual(page.columnsOf({ ...view, systems: [] }, { ...PAGE, has_outcomes: false }), []);
});

test("an order follows the measure that is shown", () => {
  assert.deepEqual(page.followed({ column: "0/11", down: true }, 2), { column: "2/11", down: true });
  assert.deepEqual(page.followed({ column: "0/1", down: true }, null), { column: "0/1", down: true });
  assert.deepEqual(page.followed({ column: "id", down: false }, 2), { column: "id", down: false });
});

test("moves are places in the other list, and how many further up", () => {
  assert.deepEqual(page.moves([5, 6, 7, 8], [6, 9, 7, 5]), [
    { there: 3, up: 3 },
    { there: 0, up: -1 },
    { there: 2, up: 0 },
    null,
  ]);
  assert.deepEqual(page.moves(Uint16Array.of(), [1]), []);
});

test("what is lazy is computed at most one time", () => {
  let n = 0;
  const value = page.lazily(() => ++n);
  assert.equal(n, 0);
  assert.deepEqual([value(), value(), n], [1, 1, 1]);
});

test("numbers are unpacked by their bits", () => {
  const numbers = [0, 1, 255];
  for (const [bits, Type] of [
    [8, Uint8Array],
    [16, Uint16Array],
    [32, Uint32Array],
  ]) {
    const column = page.unpack({ bits, data: base64(Type.from(numbers)) });
    assert.deepEqual([...column], numbers);
    assert.equal(column.constructor, Type);
  }
});

test("a column holds the values system by system, and knows its highest", () => {
  const steps = Uint16Array.from([0, 5000, page.NOTHING, 2500, 10000, 1]);
  const column = page.measureColumn({ data: base64(steps), low: -0.5, decimals: 4 }, 3);
  assert.deepEqual(
    [0, 1, 2].map((q) => column.value(0, q)),
    [-0.5, 0, null],
  );
  assert.deepEqual(
    [0, 1].map((q) => column.value(1, q)),
    [-0.25, 0.5],
  );
  assert.equal(column.top(), 0.5);
  assert.equal(column.text(0.25), "0.2500");
  assert.equal(column.text(null), "–");
});

test("large values are shown whole", () => {
  const column = page.measureColumn({ data: base64(Uint16Array.from([0, 12])), low: 100, decimals: -2 }, 2);
  assert.equal(column.text(column.value(0, 1)), "1300");
  const empty = page.measureColumn({ data: base64(Uint16Array.from([page.NOTHING])), low: 0, decimals: 4 }, 1);
  assert.equal(empty.top(), 0);
});

test("lists begin where those before them end", () => {
  assert.deepEqual([...page.offsets([2, 0, 3])], [0, 2, 2, 5]);
  assert.deepEqual([...page.offsets([])], [0]);
});

test("two values differ by the first less the second, more by their spread", () => {
  assert.equal(page.difference([0.25, 1]), -0.75);
  assert.equal(page.difference([0.25, null]), null);
  assert.equal(page.difference([0.25, 1, null]), 0.75);
  assert.deepEqual(["0.50", "-0.50", "0.00", "-0.00", "12"].map(page.signed), ["+0.50", "−0.50", "0.00", "0.00", "+12"]);
});

test("the spread leaves out missing values", () => {
  assert.equal(page.spread([0.25, null, 1, 0.5]), 0.75);
  assert.equal(page.spread([null, -1]), 0);
  assert.equal(page.spread([null, null]), null);
});

test("pairs of equal values are one dot with its number", () => {
  const [x, y] = [
    [0, 0.5, 0, 1, null, 0.5],
    [1, 0.5, 1, 0, 0.5, null],
  ];
  const { rows, ...counts } = page.pairs(
    (q) => x[q],
    (q) => y[q],
    6,
  );
  assert.deepEqual(counts, { above: 2, below: 1, even: 1 });
  assert.deepEqual(rows, [
    { x: 0, y: 1, n: 2, q: 0 },
    { x: 0.5, y: 0.5, n: 1, q: 1 },
    { x: 1, y: 0, n: 1, q: 3 },
  ]);
});

const DATA = {
  ids: ["Q1", "q2", "q3"],
  queries: ["When is the FEE due?", null, "仓库几点关门"],
  tags: [[0], [0, 1], []],
  tag_names: ["Fees", "hard"],
};
const QUESTIONS = {
  n: 3,
  texts: () => page.searchable(DATA),
  tags: DATA.tags,
  stage: (q) => [0, 2, 2][q],
  status: (q) => [0, 1, 0][q],
};
const fitting = (wanted) => page.fitting(QUESTIONS, { search: "", tag: "", outcome: "", ...wanted });

test("a search looks through ids, questions and tags, in lower case", () => {
  assert.deepEqual(page.searchable(DATA), ["q1 when is the fee due? fees", "q2  fees hard", "q3 仓库几点关门"]);
});

test("questions fit where everything that is asked for holds", () => {
  assert.deepEqual(fitting({}), [0, 1, 2]);
  assert.deepEqual(fitting({ search: "  " }), [0, 1, 2]);
  assert.deepEqual(fitting({ search: "FEE  q" }), [0, 1]);
  assert.deepEqual(fitting({ search: "due hard" }), []);
  assert.deepEqual(fitting({ search: "几点" }), [2]);
  assert.deepEqual(fitting({ tag: "0" }), [0, 1]);
  assert.deepEqual(fitting({ tag: "1" }), [1]);
  assert.deepEqual(fitting({ outcome: "stage:2" }), [1, 2]);
  assert.deepEqual(fitting({ outcome: "stage:0" }), [0]);
  assert.deepEqual(fitting({ outcome: "status:1" }), [1]);
  assert.deepEqual(fitting({ outcome: "stage:2", tag: "0", search: "hard" }), [1]);
});

test("rows are ordered by key, then by number, and those without a key are last", () => {
  const keys = [0.5, null, 1, 0.5, null, 0];
  const key = (q) => keys[q];
  const rows = [5, 4, 3, 2, 1, 0];
  assert.deepEqual(page.ordered(rows, key, false), [5, 0, 3, 2, 1, 4]);
  assert.deepEqual(page.ordered(rows, key, true), [2, 0, 3, 5, 1, 4]);
  assert.deepEqual(
    page.ordered([1, 10, 2], (q) => q, true),
    [10, 2, 1],
  );
  assert.deepEqual(rows, [5, 4, 3, 2, 1, 0]);
});

test("a second click turns the order round, and spreads begin with the widest", () => {
  assert.deepEqual(page.reordered({ column: "s0", down: false }, "s0"), { column: "s0", down: true });
  assert.deepEqual(page.reordered({ column: "s0", down: true }, "s0"), { column: "s0", down: false });
  assert.deepEqual(page.reordered({ column: "s0", down: true }, "id"), { column: "id", down: false });
  assert.deepEqual(page.reordered({ column: "id", down: false }, "spread"), { column: "spread", down: true });
  assert.deepEqual(page.reordered({ column: "spread", down: true }, "spread"), { column: "spread", down: false });
});

test("pages hold fifteen rows, and none is beyond the ends", () => {
  const rows = Array.from({ length: 31 }, (_, i) => 2 * i);
  assert.deepEqual(page.pageOf(rows, 2), { number: 2, last: 2, begin: 30, rows: [60] });
  assert.deepEqual(page.pageOf(rows, 3), page.pageOf(rows, 2));
  assert.deepEqual(page.pageOf(rows, -1), page.pageOf(rows, 0));
  assert.deepEqual(page.pageOf(rows, 1).rows, rows.slice(15, 30));
  assert.equal(page.pageOf(rows.slice(0, 30), 0).last, 1);
  assert.deepEqual(page.pageOf([], 0), { number: 0, last: 0, begin: 0, rows: [] });
});

test("neighbours are those of the order that is shown", () => {
  assert.deepEqual(page.neighbours([7, 3, 5], 3), [7, 5]);
  assert.deepEqual(page.neighbours([7, 3, 5], 7), [undefined, 3]);
  assert.deepEqual(page.neighbours([7, 3, 5], 5), [3, undefined]);
  assert.deepEqual(page.neighbours([7, 3, 5], 4), []);
});

test("attributes hold numbers or nothing", () => {
  assert.deepEqual(["0", "-1.5", "1e-7", "", undefined].map(page.numberOf), [0, -1.5, 1e-7, null, null]);
});

test("of many systems a chart shows the first ones and the one that is always shown", () => {
  const systems = (n) => Array.from({ length: n }, (_, i) => `s${i}`);
  const spec = (n) => ({
    height: 10 * n,
    layer: [{ encoding: { x: {} } }, { encoding: { y: { field: "system", sort: systems(n) } } }],
    datasets: { a: systems(n).map((system) => ({ system })), b: [{ zero: 0 }] },
  });
  assert.deepEqual(page.systemsOf(spec(3)), ["s0", "s1", "s2"]);
  assert.deepEqual(page.systemsOf({ encoding: { y: { field: "value" } } }), []);
  assert.deepEqual(page.fewer(spec(11), "s10"), spec(11));
  const few = page.fewer(spec(14), "s12");
  assert.deepEqual(page.systemsOf(few), [...systems(10), "s12"]);
  assert.deepEqual(few.datasets, { a: page.systemsOf(few).map((system) => ({ system })), b: [{ zero: 0 }] });
  assert.equal(few.height, 110);
  assert.deepEqual(page.systemsOf(page.fewer(spec(14), "s3")), systems(10));
});

test("squares fit the page", () => {
  assert.deepEqual(page.fitted({ width: 400, height: 400 }, 1000), { width: 400, height: 400 });
  assert.deepEqual(page.fitted({ width: 400, height: 400 }, 380), { width: 300, height: 300 });
  assert.deepEqual(page.fitted({ width: 400, height: 400 }, 100), { width: 160, height: 160 });
});

test("legends are broken into columns where they do not fit; Chinese letters are wider", () => {
  const spec = (domain) => ({ width: "container", layer: [{ encoding: { color: { scale: { domain } } } }] });
  const columns = (domain, width) => page.fitted(spec(domain), width).layer[0].encoding.color.legend?.columns;
  // 34 + 3 × 7 = 55 pixels each, or 34 + 3 × 13 = 73; the page has 110 pixels less than its width.
  assert.equal(columns(["abc", "abc", "abc"], 275), undefined);
  assert.equal(columns(["abc", "abc", "abc"], 274), 2);
  assert.equal(columns(["仓库秤", "abc", "abc"], 275), 2);
  assert.equal(columns(["仓库秤", "abc", "abc"], 255), 1);
  assert.equal(columns(["abc", "abc"], 20), 1);
});

test("a legend keeps its other settings", () => {
  const spec = { layer: [{ encoding: { color: { scale: { domain: ["abc"] }, legend: { symbolOpacity: 1 } } } }] };
  assert.deepEqual(page.fitted(spec, 20).layer[0].encoding.color.legend, { symbolOpacity: 1, columns: 1 });
});

test("charts without a legend stay as they are", () => {
  for (const spec of [{}, { layer: [{ encoding: {} }, { encoding: { color: { value: "red" } } }] }]) {
    assert.deepEqual(page.fitted(structuredClone(spec), 100), spec);
  }
});

test("parts of an answer are put together by sentence", () => {
  const parts = [
    ["Hello!", 0, -1],
    [" ", -1, -1],
    ["It opens ", 1, -1],
    ["[c1]", 1, 0],
    [".", 1, -1],
  ];
  assert.deepEqual(page.pieces(parts), [
    [0, [["Hello!", -1]]],
    [-1, [[" ", -1]]],
    [1, [["It opens ", -1], ["[c1]", 0], [".", -1]]], // prettier-ignore
  ]);
  assert.deepEqual(page.pieces([]), []);
});
