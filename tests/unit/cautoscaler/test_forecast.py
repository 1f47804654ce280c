from cautoscaler import Forecast, forecast


def test_the_jobs_left_are_shared_among_the_containers_that_work() -> None:
    found = forecast(now=1000.0, jobs_left=30, mean_job_seconds=60.0, working=6)
    assert found == Forecast(1300.0, "30 jobs × 60 s ÷ 6 containers")


def test_where_no_container_works_it_says_what_one_would_do() -> None:
    found = forecast(now=0.0, jobs_left=3, mean_job_seconds=60.0, working=0)
    assert found == Forecast(180.0, "3 jobs × 60 s ÷ 1 container")


def test_nothing_is_known_before_the_first_job_is_accomplished() -> None:
    assert forecast(now=0.0, jobs_left=3, mean_job_seconds=None, working=2).finish_at is None


def test_without_jobs_the_end_is_now() -> None:
    assert forecast(now=7.0, jobs_left=0, mean_job_seconds=None, working=0).finish_at == 7.0
