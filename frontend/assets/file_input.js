// A file that is dropped or chosen (components/elements.py).
(function () {
  "use strict";

  const { count } = window.bapo;

  function refusal({ name, size }, accept, most) {
    const endings = accept.split(",");
    if (!endings.some((ending) => name.toLowerCase().endsWith(ending))) {
      return `${name} is of another kind: choose a file that ends in ${endings.join(" or ")}.`;
    }
    if (size <= most) return "";
    return `${name} has ${count(Math.ceil(size / 1000))} kB: choose a file of at most ${count(most / 1000)} kB.`;
  }

  function read(file) {
    return new Promise((done, failed) => {
      const reader = new FileReader();
      Object.assign(reader, { onload: () => done(reader.result), onerror: failed });
      reader.readAsDataURL(file);
    });
  }

  window.bapo_elements.FileInput = ({ id, children, accept, max_size: most, setProps }) => {
    const { createElement, useRef, useState } = window.React;
    const input = useRef(null);
    const [isOver, setOver] = useState(false);
    const [problem, tell] = useState("");

    async function take(file) {
      const refused = refusal(file, accept, most);
      tell(refused);
      if (refused) return;
      try {
        setProps({ contents: await read(file), filename: file.name });
      } catch {
        tell(`${file.name} cannot be read: look whether it is still there, and choose it again.`);
      }
    }

    const place = {
      className: `file-place${isOver ? " over" : ""}`,
      onClick: () => input.current.click(),
      onDragOver(event) {
        event.preventDefault(); // Else the browser opens what is dropped.
        setOver(true);
      },
      onDragLeave: ({ currentTarget, relatedTarget }) => setOver(currentTarget.contains(relatedTarget)),
      onDrop(event) {
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer.files;
        if (file) take(file);
      },
    };

    function onChange({ target }) {
      if (target.files.length) take(target.files[0]);
      target.value = ""; // The same file may be chosen again once it has changed.
    }

    return createElement("div", { id, className: "file-input" },
      createElement("div", place, children),
      createElement("input", { ref: input, type: "file", accept, hidden: true, onChange }),
      problem ? createElement("p", { role: "alert", className: "field-error" }, problem) : null);
  };
})();
