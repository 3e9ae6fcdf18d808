import { Link } from "react-router";
import { Notice } from "@/components/notice";
import { paths } from "@/lib/paths";

/** The page before there is a round. */
export function FirstRound() {
  return (
    <Notice title="No rounds yet">
      <p>
        A round is a queue of comparisons for people: two answers to a prompt, which one is better? Or several, to be
        put in order. Whoever answers does not see which model wrote what, and needs the keyboard alone.
      </p>
      <p>
        The answers come from a dataset, or from checkpoints of your jobs, which write them when the round begins. When
        it is closed, it becomes a dataset version, and a job can go on with it: the reward model is fitted again, then
        PPO continues.
      </p>
      <p>
        <Link to={paths.newRound()}>Begin a round</Link>, or open a finished job and choose “Annotate its completions”.
      </p>
    </Notice>
  );
}
