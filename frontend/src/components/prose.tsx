const QUOTED = /`([^`\n]+)`/;

/** A sentence in which `code` stands between backticks. A backtick without its partner stays as it is. */
export function Prose({ text }: { text: string }) {
  return <>{text.split(QUOTED).map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>;
}
