// The words in which two texts differ.
(function () {
  "use strict";

  const MOST_WORDS = 6000; // Of each text; the table of the comparison has the square of it in bytes.

  // Words and punctuation with their places.
  const wordsOf = (text) => [...text.matchAll(/[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu)]
    .slice(0, MOST_WORDS).map((match) => [match[0], match.index, match.index + match[0].length]);

  // Places of the words of each text that are not in their longest common subsequence; neighbours are one place.
  function differences(one, other) {
    const [left, right] = [wordsOf(one), wordsOf(other)];
    const isCommon = [new Uint8Array(left.length), new Uint8Array(right.length)];
    const numbers = new Map();
    const [a, b] = [left, right].map((words) => Int32Array.from(words, ([word]) => {
      if (!numbers.has(word)) numbers.set(word, numbers.size);
      return numbers.get(word);
    }));
    const share = (i, j) => { isCommon[0][i] = isCommon[1][j] = 1; };
    let first = 0;
    let [n, m] = [a.length, b.length];
    while (first < n && first < m && a[first] === b[first]) share(first, first++);
    while (n > first && m > first && a[n - 1] === b[m - 1]) share(--n, --m);
    // Behind every pair of places: 1 where both words are common, 2 where the left one is left out, 3 the right one.
    const width = m - first + 1;
    const way = new Uint8Array((n - first + 1) * width);
    let below = new Uint16Array(width);
    let row = new Uint16Array(width);
    for (let i = n - 1; i >= first; i--) {
      for (let j = m - 1; j >= first; j--) {
        const at = j - first;
        const place = (i - first) * width + at;
        if (a[i] === b[j]) [row[at], way[place]] = [below[at + 1] + 1, 1];
        else if (below[at] >= row[at + 1]) [row[at], way[place]] = [below[at], 2];
        else [row[at], way[place]] = [row[at + 1], 3];
      }
      [below, row] = [row, below];
    }
    for (let i = first, j = first; i < n && j < m;) {
      const kind = way[(i - first) * width + j - first];
      if (kind === 1) share(i++, j++);
      else if (kind === 2) i++;
      else j++;
    }
    return [placesOf(left, isCommon[0]), placesOf(right, isCommon[1])];
  }

  function placesOf(words, isCommon) {
    const places = [];
    words.forEach(([, from, to], number) => {
      if (isCommon[number]) return;
      if (number && !isCommon[number - 1]) places.at(-1)[1] = to;
      else places.push([from, to]);
    });
    return places;
  }

  window.bapoWords = { differences };
})();
