// Where the page reads its questions from.  A source has
//   about          what belongs to no single question: systems, measures, tags, the order of systems
//   list()         all questions as columns: what a table shows of them, and what it is searched and sorted by
//   question(q)    a promise of one question with everything that is shown of it
//   keep(state)    whether decisions were kept, and kept() the last ones: of forms alone, whose source is form/source.js
// The one there is today has everything within the page.
import { lazily, measureColumn, offsets, unpack } from "./computing.js";

const OF_QUESTIONS = [
  "values", "status", "stage", "answer", "ids", "queries", "tags", "expected", "gold", "gold_more", "list_n", "list_entry",
  "list_gain", "gains", "chunk_ids", "chunk_texts", "chunk_docs", "doc_names", "marks", "of",
];

export function inlinedReport(data) {
  const n = data.ids.length;
  const columns = data.values.map((packed) => measureColumn(packed, n));
  const [statuses, stages] = [unpack(data.status), unpack(data.stage)];
  const answers = lazily(() => Object.fromEntries(Object.entries(data.answer).map(([s, packed]) => [s, unpack(packed)])));
  const lists = lazily(() => ({ starts: offsets(unpack(data.list_n)), entry: unpack(data.list_entry), gain: unpack(data.list_gain) }));

  // The passages that a system retrieved, best first: `entry` is the same for the same passage of another system, `text`
  // undefined where no texts are known, and null where it is left out.
  function retrieved(s, q) {
    const { starts, entry: entries, gain } = lists();
    const places = [];
    for (let i = starts[s * n + q]; i < starts[s * n + q + 1]; i++) {
      const entry = entries[i];
      const name = data.chunk_docs ? data.doc_names[data.chunk_docs[entry]] : undefined;
      const text = data.chunk_texts ? data.chunk_texts[entry] : undefined;
      places.push({ entry, id: data.chunk_ids[entry], doc: name, text, marks: data.marks[q]?.[entry] ?? [], gain: data.gains[gain[i]] });
    }
    return places;
  }

  function ofSystem(s, q) {
    const { evidence, failures, answers: texts, judged, lost } = data.of[s];
    return {
      values: columns.map((column) => column.text(column.value(s, q))),
      list: retrieved(s, q), answer: texts[q], judged: judged[q], failure: failures[q], lost: lost[q] ?? [], hasEvidence: evidence,
    };
  }

  return {
    about: Object.fromEntries(Object.entries(data).filter(([name]) => !OF_QUESTIONS.includes(name))),
    list: () => ({
      n,
      ids: data.ids,
      queries: data.queries,
      tags: data.tags,
      columns,
      status: (s, q) => statuses[s * n + q],
      stage: (s, q) => stages[s * n + q],
      // What became of the answer, as a number; undefined without verdicts.
      answer: (s, q) => answers()[s]?.[q],
    }),
    question: async (q) => ({
      id: data.ids[q],
      query: data.queries[q],
      tags: data.tags[q],
      expected: data.expected?.[q] ?? null,
      gold: data.gold[q],
      more: data.gold_more[q],
      systems: data.of.map((_, s) => ofSystem(s, q)),
    }),
  };
}
