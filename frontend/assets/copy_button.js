// Buttons that copy the text before them (components/notices.py).
(function () {
  "use strict";

  const { copy } = window.bapo;

  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".secret-copy");
    if (!button) return;
    const text = button.previousElementSibling;
    // Browsers copy only for pages that are served safely; elsewhere people do, what is selected for them.
    if (navigator.clipboard) copy(text.textContent, button.firstElementChild);
    else getSelection().selectAllChildren(text);
  });
})();
