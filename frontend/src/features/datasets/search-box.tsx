import { useEffect, useState, type RefObject } from "react";

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
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  // The address has changed by other means, such as the back button.
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => onSearch(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <input
      ref={inputRef}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") onSearch(text.trim());
        if (event.key === "Escape") event.currentTarget.blur();
      }}
    />
  );
}
