// What pages do with texts, held against values worked by hand: `node --test tests/reports/texts.test.js`.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as texts from "../../src/steelyard/reports/html/texts.js";

test("fields are filled in, and n chooses between singular and plural", () => {
  const words = { plain: "{a} of {b}, {a}", "gold.one": "{n} piece", "gold.other": "{n} pieces" };
  assert.equal(texts.phrase(words, "plain", { a: 0, b: "<b>$&" }), "0 of <b>$&, 0");
  assert.equal(texts.phrase(words, "gold", { n: 1 }), "1 piece");
  assert.equal(texts.phrase(words, "gold", { n: 0 }), "0 pieces");
  assert.equal(texts.phrase(words, "gold", { n: 2 }), "2 pieces");
});

test("marks count code points", () => {
  assert.deepEqual(texts.stretches("no mark", []), [["no mark", false]]);
  assert.deepEqual(texts.stretches("a😀仓库b", [1, 2, 3, 4]), [
    ["a", false],
    ["😀", true],
    ["仓", false],
    ["库", true],
    ["b", false],
  ]);
  assert.deepEqual(texts.stretches("仓😀", [0, 2], true), [["仓😀", false]]);
  assert.deepEqual(texts.stretches("abc", [0, 2], true)[1], ["ab", true]);
  assert.deepEqual(texts.stretches("ab", [0, 2]), [
    ["", false],
    ["ab", true],
    ["", false],
  ]);
});

test("names of files have no signs that a file system minds", () => {
  assert.equal(texts.fileName("leaderboard", undefined), "leaderboard");
  assert.equal(texts.fileName("curves", "map(min_gain=2)"), "curves-map(min_gain=2)");
  assert.equal(texts.fileName("仓库", "../a b:c"), "仓库-.._a_b_c");
});

test("rows become CSV that holds any text", () => {
  const rows = [
    ["a", 1.5, null],
    ['say "x"', "1,5", "two\nlines"],
  ];
  assert.equal(texts.csvOf(rows), 'a,1.5,\r\n"say ""x""","1,5","two\nlines"\r\n');
  assert.equal(texts.csvOf([]), "");
  assert.equal(texts.csvOf([["=1+1", -0.5, "+.1", "-x", '@"', "＝1"]]), `'=1+1,-0.5,+.1,'-x,"'@""",'＝1\r\n`);
});

test("data of another language are those of the first one with changes", () => {
  const data = { n: 1, names: ["a", "b"], of: { x: { y: 1 }, z: [] } };
  assert.deepEqual(texts.patched(data, undefined), data);
  const changes = { names: { 1: ["c"] }, of: { x: [{ y: 2, w: 3 }] } };
  assert.deepEqual(texts.patched(data, changes), { n: 1, names: ["a", "c"], of: { x: { y: 2, w: 3 }, z: [] } });
  assert.equal(texts.patched("a", ["b"]), "b");
});

test("drawings in files have the colours of light paper", () => {
  const colours = { "--ink": " light-dark(#111, #eee)", "--plain": "red" };
  const svg = '<path fill="var(--ink)" stroke="var(--plain)"/>';
  assert.equal(texts.onWhite(svg, (name) => colours[name]), '<path fill="#111" stroke="red"/>');
});
