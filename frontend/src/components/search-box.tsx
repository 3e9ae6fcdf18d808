import { type RefObject, useEffect, useEffectEvent, useState } from "react";
import { arrivedAt, asking, searchText } from "@/lib/search-text";

interface Props {
  value: string;
  onSearch: (text: string) => void;
  label: string;
  placeholder: string;
  inputRef?: RefObject<HTMLInputElement | null>;
}

const TYPING_MS = 350;

/** Searches when typing has paused, or at once with Enter; Escape leaves the field. */
export function SearchBox({ value, onSearch, label, placeholder, inputRef }: Props) {
  const [box, setBox] = useState(() => searchText(value));
  if (box.shown !== value) setBox(arrivedAt(box, value));
  const wanted = box.text.trim();
  const search = () => {
    if (wanted === value) return;
    setBox(asking(box, wanted));
    onSearch(wanted);
  };
  const onPause = useEffectEvent(search);
  useEffect(() => {
    const timer = setTimeout(() => onPause(), TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  return (
    <input
      ref={inputRef}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={box.text}
      onChange={(event) => setBox({ ...box, text: event.target.value })}
      onKeyDown={(event) => {
        if (event.key === "Enter") search();
        if (event.key === "Escape") event.currentTarget.blur();
      }}
    />
  );
}
