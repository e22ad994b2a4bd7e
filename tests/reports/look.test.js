// What control charts compute, held against values worked by hand: `node --test tests/reports/look.test.js`.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as chart from "../../src/steelyard/reports/look/computing.js";

test("values and times come back from their places", () => {
  const data = { time: 0, range: [0.2, 0.4], value: [0, null, 9999], expected: [], low: [0, 0, 0], high: [], cusum_range: [0, 10], cusum: [0, 5000, 9999], n: [5, 6, 7], alarms: [2] };
  const own = chart.decoded(data, [{ first: 1000, unit: 3600, steps: [1, 2] }], 9999);
  assert.deepEqual(own.at, [1000, 4600, 11800]);
  assert.deepEqual(own.value, [0.2, null, 0.4]);
  assert.deepEqual(own.expected, [null, null, null]);
  assert.ok(Math.abs(own.cusum[1] - 5) < 1e-3);
  assert.ok(own.alarms.has(2));
  const empty = chart.decoded({ ...data, value: [], n: [] }, [{ first: 0, unit: 1, steps: [] }], 9999);
  assert.deepEqual(empty.at, []);
});

test("scales and ticks are of round numbers, and of one value too", () => {
  const x = chart.scale([0, 10], 100, 200);
  assert.deepEqual([x(0), x(5), x(10)], [100, 150, 200]);
  assert.equal(chart.scale([3, 3], 100, 200)(3), 150);
  assert.deepEqual(chart.ticks([0.18, 0.41], 4), [0.2, 0.3, 0.4]);
  assert.deepEqual(chart.ticks([5, 5], 4), [5]);
  assert.deepEqual(chart.extent([null, 3, NaN, -1]), [-1, 3]);
  assert.deepEqual(chart.extent([null]), [0, 1]);
});

test("the nearest window is found", () => {
  assert.deepEqual([-5, 0.4, 0.6, 2.9, 99].map((x) => chart.nearest([0, 1, 3], x)), [0, 0, 1, 2, 2]);
  assert.equal(chart.nearest([7], 0), 0);
});

test("lines and bands have gaps where there are no values", () => {
  assert.equal(chart.line([0, 1, 2, 3], [1, 2, null, 4]), "M0 1L1 2M3 4h1");
  assert.equal(chart.band([0, 1, 2], [9, 8, null], [1, 2, null], [10, 0]), "M0 9L1 8L1 2L0 1Z");
  assert.equal(chart.band([0, 1], [null, 8], [1, 2], [10, 0]), "M0 10L1 8L1 2L0 1Z");
});

test("numbers are written as in the tables", () => {
  assert.deepEqual([0.24123, 1520.4, -0.5, 0, null, 16.04, 1234567, -0.00001234, 2e-23].map(chart.amount), ["0.241", "1,520", "−0.5", "0", "–", "16", "1,234,567", "−0.0000123", "0"]);
});

test("letters that are close share a label", () => {
  const places = new Map([[0, 100], [1, 104], [2, 300]]);
  assert.deepEqual(chart.labels(places, 9), [{ x: 100, text: "AB" }, { x: 300, text: "C" }]);
  assert.equal(chart.letter(26), "27");
});
