// People: the address that links begin with.
(function () {
  "use strict";

  window.bapo.clientside.people = {
    origin() {
      return location.origin;
    },
  };
})();
