import { Link } from "react-router";
import { Notice } from "@/components/notice";
import { paths } from "@/lib/paths";

export function NotFound() {
  return (
    <Notice title="There is no such page">
      <p>
        Go to the <Link to={paths.jobs}>jobs</Link> or to the <Link to={paths.datasets}>datasets</Link>.
      </p>
    </Notice>
  );
}
