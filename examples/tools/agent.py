"""Plans days: knows the calendar, and how long things take."""

from datetime import date, timedelta

from chat_loop import Agent


def days_between(first: date, last: date) -> int:
    """Count the days from one date to another.

    Args:
        first: The earlier date, such as 2026-11-22.
        last: The later date.
    """
    return (last - first).days


def working_days(start: date, days: int) -> str:
    """Find the date that is `days` working days after another, Monday to Friday.

    Args:
        start: The date to count from, such as 2026-11-22.
        days: The number of working days, at most 1000.
    """
    if not 0 <= days <= 1000:
        raise ValueError("days must be from 0 to 1000")
    day = start
    while days:
        day += timedelta(days=1)
        days -= day.weekday() < 5
    return f"{day:%A}, {day.isoformat()}"


agent = Agent(
    name="Planner",
    description="Plans days: knows the calendar, and how long things take.",
    system_prompt="You help to plan. Use your tools for every date that you compute; never count "
    "days yourself.",
    tools=[days_between, working_days],
)
