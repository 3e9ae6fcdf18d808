/** Said to who does not see the page, whenever it changes. Figures that change all the time do not belong in it. */
export function Announce({ text }: { text: string }) {
  return (
    <span role="status" className="visually-hidden">
      {text}
    </span>
  );
}
