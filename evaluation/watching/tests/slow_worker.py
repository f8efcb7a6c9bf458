"""A worker that takes its time at each step of a night, and says which one it begins, to be killed there.

python slow_worker.py FILE: adds the name of each step to the file.
"""

import os
import sys
import time

STEPS = ("ask", "store", "scored", "verdict_on")  # fetching, writing, scoring, telling
SECONDS_OF_STEP = 1.0  # which a step takes longer, half of them before and half after its work


def slow_down(module, step: str) -> None:
    act = getattr(module, step)

    def slow(*args, **kwargs):
        with open(sys.argv[1], "a") as said:
            said.write(f"{step}\n")
        time.sleep(SECONDS_OF_STEP / 2)
        outcome = act(*args, **kwargs)
        time.sleep(SECONDS_OF_STEP / 2)
        return outcome

    setattr(module, step, slow)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from evaluation.watching import nights, telling
    from ratings.importing.pull import turns

    for module, step in zip((turns, nights, telling, telling), STEPS, strict=True):
        slow_down(module, step)
    call_command("work")
