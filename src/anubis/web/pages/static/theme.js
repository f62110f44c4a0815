// Before the first paint: the theme that was chosen on this machine. Without a choice the system decides.
try {
  const chosen = localStorage.getItem("anubis-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is switched off */ }
