// The form of a study: what the server finds wrong stands at its input. Only what differs is set.
(function () {
  "use strict";

  const { clientside, find, noUpdate, setProps } = window.bapo;

  const PAUSE_MS = 300;
  let typing = null;
  let typed = 0;

  let marked = { drawn: null, errors: {} };

  clientside.studyForm = {
    // The file is written when typing pauses.
    pause() {
      clearTimeout(typing);
      typing = setTimeout(() => {
        if (find("study-text")) setProps("study-typed", { data: ++typed });
      }, PAUSE_MS);
      return noUpdate();
    },

    // `drawn` counts how often the form was drawn: its inputs then begin without a mark.
    mark(errors, drawn) {
      const before = marked.drawn === drawn ? marked.errors : {};
      for (const path of new Set([...Object.keys(before), ...Object.keys(errors)])) {
        const error = errors[path] || null;
        if (error !== (before[path] || null)) setProps({ type: "study-wrap", path }, { error });
      }
      marked = { drawn, errors };
      return noUpdate();
    },
  };
})();
