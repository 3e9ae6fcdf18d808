// Runs before the first paint, so that a chosen theme never flashes the other one.
try {
  const theme = localStorage.getItem("proximal-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be blocked; the system's theme is fine.
}
