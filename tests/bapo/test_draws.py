from __future__ import annotations

from bapo.draws import generator, seed_of


def test_a_draw_depends_on_seed_step_and_purpose_alone() -> None:
    first = generator(42, 7, "reuse")
    first.random()
    assert generator(42, 7, "reuse").random() == generator(42, 7, "reuse").random() != first.random()


def test_each_part_of_the_key_counts() -> None:
    seeds = {
        seed_of(seed, step, purpose) for seed in range(10) for step in range(10) for purpose in ("filter", "reuse")
    }
    assert len(seeds) == 200


def test_parts_do_not_run_into_one_another() -> None:
    assert seed_of(1, 23, "x") != seed_of(12, 3, "x")


def test_seeds_fit_every_library() -> None:
    # torch.Generator and numpy take 63 bits.
    assert all(0 <= seed_of(seed, 1, "rollout") < 2**63 for seed in range(1000))


def test_the_key_is_the_same_in_every_process_and_version() -> None:
    # First 8 bytes of SHA-256 of "42:1:rollout", without the lowest bit: a change here would break every resumed run.
    assert seed_of(42, 1, "rollout") == 9011318132831997197
