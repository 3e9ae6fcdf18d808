import { setTheme, type Theme, useTheme } from "@/app/theme";
import { Button } from "@/components/button";
import { AutoIcon, MoonIcon, SunIcon } from "@/components/icons";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: AutoIcon, light: SunIcon, dark: MoonIcon };
const NAMES = { system: "as the system", light: "light", dark: "dark" };

export function ThemeButton() {
  const theme = useTheme();
  const Icon = ICONS[theme];
  const text = `Theme: ${NAMES[theme]}. Change to ${NAMES[NEXT[theme]]}.`;
  return (
    <Button look="quiet" onClick={() => setTheme(NEXT[theme])} aria-label={text} title={text}>
      <Icon />
    </Button>
  );
}
