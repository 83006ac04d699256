// The config of a run: searching its fields.
(function () {
  "use strict";

  const { clientside, find } = window.bapo;

  clientside.config = {
    filter(text, onlySet) {
      const wanted = (text || "").trim().toLowerCase().split(/\s+/).filter(Boolean);
      const rows = [...document.querySelectorAll("[data-field-row]")];
      let shown = 0;
      for (const row of rows) {
        const content = row.textContent.toLowerCase();
        const fits = wanted.every((word) => content.includes(word)) && (!onlySet || row.classList.contains("config-set"));
        row.hidden = !fits;
        shown += fits;
      }
      find("config-none").hidden = shown > 0;
      window.bapoView.write({ q: text || null, only: onlySet ? "set" : null });
      return shown === rows.length ? `${rows.length} fields` : `${shown} of ${rows.length} fields`;
    },
  };
})();
