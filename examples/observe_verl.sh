#!/bin/sh
# Watch verl's own trainer by one line of its config; the rest is an ordinary GRPO run on one GPU.
#
#     sh examples/observe_verl.sh train.parquet test.parquet Qwen/Qwen2.5-0.5B-Instruct [more of verl's options]
#
# verl (0.9) and this package are installed in the same environment. The files are verl's own parquet files, with the
# columns prompt, data_source and reward_model. With BAPO_SERVER and BAPO_TOKEN set, the run is there while it trains.
set -eu
[ $# -ge 3 ] || { echo "usage: sh $0 TRAIN.parquet TEST.parquet MODEL [OPTION=VALUE ...]" >&2; exit 2; }
train=$1 test=$2 model=$3
shift 3
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files="$train" \
    data.val_files="$test" \
    data.train_batch_size=64 \
    data.max_response_length=1024 \
    actor_rollout_ref.model.path="$model" \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    trainer.n_gpus_per_node=1 \
    trainer.nnodes=1 \
    trainer.experiment_name=observed \
    trainer.logger='[console,bapo]' \
    "$@"
