import { Card } from "@/components/card";
import { switchNotifications, useNotifications } from "@/lib/notifications";
import styles from "./settings.module.css";

/** Whether this browser announces the end of jobs. */
export function NotificationsTab() {
  const state = useNotifications();
  return (
    <Card title="In this browser" className={styles.usage}>
      <label className={styles.switch}>
        <input
          type="checkbox"
          checked={state === "on"}
          disabled={state === "blocked" || state === "missing"}
          onChange={(event) => void switchNotifications(event.target.checked)}
        />
        Notify me when a job ends or is paused
      </label>
      <p className={styles.note} role="status">
        {
          {
            on: "A page of the dashboard must be open, also in the background.",
            off: "The browser asks for your permission first.",
            blocked:
              "This browser blocks notifications of this site. Allow them in the settings of the site, then reload.",
            missing: "Browsers offer notifications over https and on localhost only.",
          }[state]
        }
      </p>
    </Card>
  );
}
