// A field of a form, and texts to type into (components/config_form/fields.py).
(function () {
  "use strict";

  const { Markup } = window.bapo_elements;
  const element = (...parts) => window.React.createElement(...parts);
  let context = null; // What a field tells its inputs of its texts.

  const Texts = () => (context ??= window.React.createContext({}));

  window.bapo_elements.Field = (field) => {
    const { id, path, width, label, description, source, was, reset, error, warning, isChanged, isHidden } = field;
    const key = window.React.useId();
    const began = window.React.useRef({ isHidden, isSeen: false }).current;
    began.isSeen ||= !isHidden;
    const look = `field field-${width}${isChanged ? " changed" : ""}${isHidden ? " hidden" : ""}`;
    const place = { id, "data-field": path, className: look };
    // Most fields of a form belong to other methods and types of tasks, and are hidden.
    if (!began.isSeen) return element("div", place);
    // Dash draws a new component as it was made, any other as its store has it by now.
    const current = (input) => (began.isHidden ? window.React.cloneElement(input, { _newRender: 0 }) : input);
    const inputs = [field.children].flat().map(current);
    const shown = [];
    const text = (kind, words) => {
      if (!words) return null;
      shown.push(key + kind);
      return element("p", { id: key + kind, className: kind }, words);
    };
    const texts = [text("field-description", description), text("field-error", error)];
    const doubt = text("field-warning", warning);
    return element("div", place,
      element("div", { className: "field-wrap" },
        element("div", { className: "field-label" }, element(Markup, { tree: label })),
        element(Texts().Provider, { value: { described: shown.join(" ") || undefined, isWrong: Boolean(error) } },
          inputs.length > 1 ? element("div", { className: "range" }, ...inputs) : inputs[0]),
        ...texts),
      source ? element("div", { className: "field-source" }, `Source: ${source}`) : null,
      reset ? element("div", { className: "field-was" },
        element("span", null, "was ", element("code", { className: "diff-old" }, was)),
        element("button", { type: "button", className: "text-button", "aria-label": `Reset ${path}`, ...reset }, "Reset")) : null,
      doubt);
  };

  window.bapo_elements.TextInput = ({ id, value, placeholder, start, spoken, setProps }) => {
    const { described, isWrong } = window.React.useContext(Texts());
    const input = element("input", {
      id, placeholder, className: "text-input", value: value ?? "", autoComplete: "off", "aria-label": spoken,
      "aria-describedby": described, "aria-invalid": isWrong, onChange: (event) => setProps({ value: event.target.value }),
    });
    return start ? element("div", { className: "text-start" }, element("span", { className: "range-end" }, start), input) : input;
  };

  window.bapo_elements.TextArea = ({ setProps, ...properties }) =>
    element("textarea", { ...properties, spellCheck: false, onChange: (event) => setProps({ value: event.target.value }) });
})();
