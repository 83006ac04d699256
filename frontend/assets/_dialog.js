// Dialogs that our scripts make: the browser's own element, which keeps the focus inside, puts it back where it was, closes
// with Escape, and hides the page behind it from screen readers. One at a time; another page closes it.
(function () {
  "use strict";

  const { button, icon, make } = window.bapo;
  let shown = null;

  const close = () => shown?.close();

  // `name` is read first; a dialog that `says` it shows it above its content, with a button that closes. What has
  // `autofocus` gets the focus.
  function dialog(name, className, content, { says = true } = {}) {
    close();
    const element = make("dialog", `sheet ${className}`);
    element.setAttribute("aria-label", name);
    if (says) {
      const closing = button(icon("cross"), "icon-button", close);
      closing.setAttribute("aria-label", "Close");
      element.append(make("div", "sheet-head", make("h2", "sheet-title", name), closing));
    }
    element.append(...content);
    // The content covers the dialog: what is pressed in the dialog itself lies around it.
    element.addEventListener("click", (event) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const isInside = event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
      if (event.target === element && !isInside) close();
    });
    element.addEventListener("close", () => {
      element.remove();
      if (shown === element) shown = null;
    });
    document.body.append(element);
    shown = element;
    element.showModal();
    return element;
  }

  // Whether something lies over the page that wants an answer first, ours or Mantine's.
  const isCovered = () => [...document.querySelectorAll("dialog[open], [aria-modal=true]")].some((each) => each.checkVisibility());

  addEventListener("bapo:view", close);
  // Escape closes this dialog alone, not also what lies below it, such as a drawer or a chart over the whole window.
  addEventListener("keydown", (event) => { if (event.key === "Escape" && shown) event.stopImmediatePropagation(); }, true);
  Object.assign(window.bapo, { dialog, closeDialog: close, isCovered });
})();
