// Where the form reads its items from, and keeps decisions: a source as page/source.js describes it.
// The one there is today has all items within the page, and decisions in a storage of the browser.

const NAME = "steelyard-review";

// What the form keeps is known by the review and by what is kept.
export const keyOf = ({ review_id: id, kind }, ...what) => JSON.stringify([NAME, id, kind, ...what]);

// `area` returns the storage, or throws where there is none.
export function inlinedForm({ items, texts, ...about }, area) {
  return {
    about,
    list: () => items.map(({ item_id, judged }) => ({ item_id, isJudged: judged !== null })),
    question: async (place) => {
      const { query, hypothesis, lead, answer, premises, ...item } = items[place];
      const worded = { query: texts[query], hypothesis: texts[hypothesis], lead: texts[lead], answer: texts[answer] };
      return { ...item, ...worded, premises: premises.map(([name, text]) => [name, texts[text]]) };
    },
    keep(rater, text) {
      try {
        area().setItem(keyOf(about, "decisions", rater), text);
        return true;
      } catch {
        return false;
      }
    },
    // null for a rater of whom nothing is kept, undefined where nothing can be kept.
    kept(rater) {
      try {
        return area().getItem(keyOf(about, "decisions", rater));
      } catch {
        return undefined;
      }
    },
  };
}
