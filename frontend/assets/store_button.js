// Buttons that write into a store when they are pressed (components/store_button.py).
(function () {
  "use strict";

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-store-button]");
    if (!button || button.disabled) return;
    const { store, what } = JSON.parse(button.dataset.storeButton);
    window.bapo.setProps(store, { data: { ...what, at: Date.now() } });
  });
})();
