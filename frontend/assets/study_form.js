// The form of a study: what the server finds wrong stands at its input. Only what differs is set.
(function () {
  "use strict";

  const { clientside, noUpdate, setProps } = window.bapo;

  let marked = { drawn: null, errors: {} };

  clientside.studyForm = {
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
