// The form of a study: the server's problems are shown at their inputs. Only what differs is set.
(function () {
  "use strict";

  const { clientside, find, noUpdate, setProps } = window.bapo;

  const PAUSE_MS = 300;
  let editing = null;
  let typing = null;
  let typed = 0;
  let presses = 0;

  let marked = { drawn: null, errors: {} };

  clientside.studyForm = {
    // What is typed into the file is looked at when typing pauses; what others write there, at once.
    settle(text) {
      clearTimeout(editing);
      if (document.activeElement !== find("study-text")) return text;
      editing = setTimeout(() => {
        if (find("study-text")) setProps("study-settled", { data: text });
      }, PAUSE_MS);
      return noUpdate();
    },

    // A form that is redrawn reports its buttons too, unpressed.
    press() {
      const { triggered } = clientside.callback_context;
      const pressed = triggered.find((each) => each.value);
      if (!pressed) return noUpdate();
      const { type, action = null, place } = JSON.parse(pressed.prop_id.slice(0, pressed.prop_id.lastIndexOf(".")));
      return { press: ++presses, type, action, place, value: pressed.value };
    },

    // What was typed into the form counts unless the file has changed meanwhile: that change knew it.
    written(answer, text) {
      return answer.base === text ? [answer.text, answer.drawn] : [noUpdate(), noUpdate()];
    },

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
