// The dialog that asks before what cannot be undone (components/confirm.py).
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;

  clientside.confirm = {
    ask(question) {
      if (!question) return Array(10).fill(clientside.no_update);
      const { title, subject = "", text = "", button, colour = "red", typed = "" } = question;
      const label = typed ? `Type ${typed} to confirm` : "";
      return [true, title, subject, text, button, colour, label, typed ? {} : { display: "none" }, "", ""];
    },
    typed(value, question) {
      return Boolean(question?.typed) && (value || "").trim() !== question.typed;
    },
    keep() {
      return false;
    },
    answered(answer, question) {
      if (!answer || !question) return [clientside.no_update, clientside.no_update];
      return answer.error ? [true, answer.error] : [false, ""];
    },
  };
})();
