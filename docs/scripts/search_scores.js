// Weights of the site's search: guides come before the reference, and the list of changes last.
var Scorer = {
  score: ([docname, title, anchor, description, score]) => {
    const weights = [
      [/^(index|guide\/|interop\/|extensions\/\w+\/(index|guide)$)/, 40],
      [/^(results|extensions)\//, 15],
      [/^develop\/changes$/, -30],
      [/^develop\//, -5],
    ];
    const match = weights.find(([pages]) => pages.test(docname));
    return score + (match ? match[1] : 0);
  },
  // What follows are the values of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
