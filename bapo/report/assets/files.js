// Tables as CSV, and files for the reader: for drawings of reports, in their own file and in the dashboard.
(function () {
  "use strict";

  function quoted(value) {
    const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
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
