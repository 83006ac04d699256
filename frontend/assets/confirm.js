// The dialog that asks before what cannot be undone (components/dialogs.py).
(function () {
  "use strict";

  const { clientside, noUpdate } = window.bapo;

  clientside.confirm = {
    ask(question) {
      if (!question) return Array(10).fill(noUpdate());
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
      if (!answer || !question) return [noUpdate(), noUpdate()];
      return answer.error ? [true, answer.error] : [false, ""];
    },
  };
})();
