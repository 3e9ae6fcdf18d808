import { useEffect, useState, useSyncExternalStore } from "react";
import { Link } from "react-router";
import { type Post, posts } from "@/features/annotation/model/outboxes";
import { Sending } from "@/features/annotation/ui/queue/sending";
import { paths } from "@/lib/paths";

/** Sends the answers that closed pages left behind in this browser, and says so where they do not get through. */
export function Leftovers() {
  const [found] = useState(posts);
  useEffect(() => found.forEach(({ outbox }) => outbox.retry()), [found]);
  return found.map((post) => <Leftover key={`${post.round} ${post.annotator}`} {...post} />);
}

function Leftover({ round, annotator, outbox }: Post) {
  const sending = useSyncExternalStore(outbox.subscribe, outbox.getView);
  const whose = (
    <>
      Of {annotator}, to <Link to={paths.round(round)}>{round}</Link>.
    </>
  );
  return <Sending whose={whose} sending={sending} onRetry={outbox.retry} onDismiss={outbox.dismiss} />;
}
