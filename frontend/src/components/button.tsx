import type { ButtonHTMLAttributes } from "react";
import styles from "./button.module.css";

type Look = "plain" | "primary" | "danger" | "quiet";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
}

export const buttonClass = (look: Look = "plain"): string => `${styles.button} ${styles[look]}`;

export function Button({ look = "plain", className = "", type = "button", ...rest }: Props) {
  return <button type={type} className={`${buttonClass(look)} ${className}`} {...rest} />;
}
