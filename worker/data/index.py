from worker.data.task_run import TaskRun


def run(task: TaskRun) -> None:
    raise NotImplementedError
