// People: the address that links begin with, and by which workers join.
(function () {
  "use strict";

  const address = () => location.origin + window.bapo.prefix;

  window.bapo.clientside.people = {
    origin() {
      return address();
    },

    joining() {
      const isHere = /^(localhost|127\.|\[::1\])/.test(location.hostname);
      const flag = location.protocol === "http:" && !isHere ? " --allow-http" : "";
      const note = isHere
        ? "This page's address leads to the server on its own machine only: put the server's https address in."
        : flag && "This page's address is not encrypted: others on the way can read the token.";
      return [`bapo worker --server ${address()}${flag} --token-file worker-token`, note];
    },
  };
})();
