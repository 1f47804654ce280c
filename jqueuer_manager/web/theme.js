/* Loaded before anything is drawn, so that a chosen theme does not flash; what is not chosen follows the system. */
(() => {
  const chosen = (() => {
    try {
      return localStorage.getItem("jqueuer-theme");
    } catch {
      return null; // storage may be forbidden; then the system decides
    }
  })();
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
