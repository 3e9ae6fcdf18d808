/** Takes the token out of `?token=…`, so that it stays neither in the address bar nor in the history. */
export function takeToken({ location, history }: Pick<Window, "location" | "history">): string | null {
  const url = new URL(location.href);
  const token = url.searchParams.get("token");
  if (token === null) return null;
  url.searchParams.delete("token");
  history.replaceState(history.state, "", url);
  return token.trim() || null;
}
