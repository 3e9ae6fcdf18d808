import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { CodeBlock, Time } from "@/components/text";
import { createWorkerToken, isOfThisMachine, joinCommand } from "@/features/workers/api";
import { clock } from "@/lib/format";
import styles from "./workers.module.css";

/** A button that creates a token and shows the command with which a machine joins. */
export function AddWorker() {
  const [open, setOpen] = useState(false);
  const token = useMutation({ mutationFn: createWorkerToken });
  const start = () => {
    setOpen(true);
    token.mutate();
  };
  return (
    <>
      <Button look="primary" onClick={start}>
        Add a worker
      </Button>
      <Dialog open={open} title="Add a worker" onClose={() => setOpen(false)}>
        <div className={styles.steps}>
          <p>
            On the new machine, install this platform from its repository with <code>make setup</code>, in the same
            version. Then run this command there:
          </p>
          {token.isPending && <Skeleton rows={1} height="3rem" label="Creating a token" />}
          {token.isError && <ErrorNotice error={token.error} doing="create a token" onRetry={() => token.mutate()} />}
          {token.isSuccess && (
            <>
              {isOfThisMachine(window.location.hostname) && (
                <p>
                  The address in the command is that of this browser, which other machines cannot reach. Open this page
                  under an address that they reach, or change it in the command.
                </p>
              )}
              <CodeBlock label="Command" code={joinCommand(window.location.origin, token.data.token)} />
              <p>
                The token lets one worker join. It is valid until{" "}
                <Time at={token.data.expires_at}>{clock(token.data.expires_at)}</Time>. The command gets the address and
                the password of the database, so pass it on only to a person who may have them. It checks the machine
                and starts the worker, which then appears in the list.
              </p>
            </>
          )}
          <div className={styles.changes}>
            <Button onClick={() => token.mutate()} busy={token.isPending}>
              Create another token
            </Button>
            <Button onClick={() => setOpen(false)}>Close</Button>
          </div>
        </div>
      </Dialog>
    </>
  );
}
