// Tables as CSV, and files for the reader: for drawings of reports, in their own file and in the dashboard.
(function () {
  "use strict";

  // A spreadsheet would run a text that begins so as a formula; numbers and percentages are none.
  const isFormula = (text) => /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+(e[+-]?\d+)?\s*%?$/i.test(text);

  function quoted(value) {
    const given = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
    const text = typeof value === "string" && isFormula(given) ? `'${given}` : given;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  const csv = (rows) => rows.map((row) => `${row.map(quoted).join(",")}\n`).join("");

  function save(name, text, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  window.bapoFiles = { csv, save };
})();
