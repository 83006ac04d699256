// People: the address that links begin with.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.people = {
    origin() {
      return location.origin;
    },
  };
})();
