const CONTROLS =
  'a[href], button:enabled, input:enabled:not([aria-checked="false"]), select:enabled, textarea:enabled, summary, [tabindex]:not([tabindex="-1"])';
/** By then the page has moved the focus itself, where it does so, and the browser has left a disabled button. */
const PATIENCE_MS = 100;

/**
 * Moves the focus when the control that has it goes away or is disabled, for example after "Clear the filters": to the next
 * control beside it. Without this a screen reader and the keyboard start again at the top of the page (WCAG 2.4.3).
 * Returns a function that ends it.
 */
export function keepFocus(): () => void {
  let last: Element | null = null;
  /** The elements around it, from the inside. A later change may remove the nearest ones, too. */
  let around: readonly Element[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onFocus = ({ target }: FocusEvent) => {
    last = target instanceof Element ? target : null;
    around = last ? ancestorsOf(last) : [];
  };
  // A click beside all controls takes the focus away on purpose.
  const onPointer = () => (last = null);
  const observer = new MutationObserver((records) => {
    if (!last) return;
    const lost = records.find((record) => isLoss(record, last));
    if (!lost) return;
    const near = [lost.nextSibling, lost.previousSibling].filter((one) => one instanceof Element);
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (document.activeElement !== document.body) return;
      (near.map(controlIn).find(Boolean) ?? controlAround(around))?.focus({ preventScroll: true });
    }, PATIENCE_MS);
  });
  document.addEventListener("focusin", onFocus);
  document.addEventListener("pointerdown", onPointer);
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
  return () => {
    observer.disconnect();
    document.removeEventListener("focusin", onFocus);
    document.removeEventListener("pointerdown", onPointer);
  };
}

function isLoss(record: MutationRecord, element: Element | null): boolean {
  if (record.type === "attributes") return record.target === element && element.matches(":disabled");
  return [...record.removedNodes].some((node) => node.contains(element)) && element?.isConnected === false;
}

/** The first control that is shown: one that a narrow page shows only does not take the focus. */
function controlIn(element: Element): HTMLElement | null {
  if (!element.isConnected || element.querySelector("main")) return null;
  const controls = [...element.querySelectorAll<HTMLElement>(CONTROLS)];
  if (element.matches(CONTROLS)) controls.unshift(element as HTMLElement);
  return controls.find((control) => control.checkVisibility({ visibilityProperty: true })) ?? null;
}

/** The first control of the nearest element around that has one; the page itself, if that would be outside of it. */
function controlAround(elements: readonly Element[]): HTMLElement | null {
  const page = document.querySelector("main");
  const inside = elements.filter((element) => !element.contains(page));
  return inside.map(controlIn).find((control) => control !== null) ?? page;
}

function ancestorsOf(element: Element): Element[] {
  const parent = element.parentElement;
  return parent ? [parent, ...ancestorsOf(parent)] : [];
}
