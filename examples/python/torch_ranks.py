"""Training spread over the ranks of torch.distributed: equal bits for any number of ranks and any share of the batch.

    torchrun --nproc-per-node 4 torch_ranks.py

A float sum of gradients depends on who adds what to what.  Here each micro-batch's gradient is added into accumulators
with the shapes of the parameters, and the ranks' accumulators are added up: the mean over all micro-batches, rounded once.
"""

import torch
from torch import distributed

import warpfold
import warpfold.torch


def mean_gradients(model, batches, loss_of, group=None):
    """Sets every parameter's gradient to the mean over all ranks' batches; returns the mean loss.

    batches: this rank's; may be none.  loss_of(model, batch): a tensor of the losses of its examples.  What a batch
    gives must not depend on who computes it: batches of one size, the same device and number of threads.
    """
    parameters = list(model.parameters())
    sums = [warpfold.Accumulator("mean", "float32", shape=tuple(parameter.shape)) for parameter in parameters]
    mean_loss = warpfold.Accumulator("mean", "float32")
    for batch in batches:
        losses = loss_of(model, batch)
        for gradients, gradient in zip(sums, torch.autograd.grad(losses.mean(), parameters)):
            gradients.update(gradient[None], axis=0)
        mean_loss.update(losses)
    for parameter, gradients in zip(parameters, sums):
        mean = warpfold.torch.all_reduce(gradients, group).result()
        parameter.grad = torch.as_tensor(mean).to(parameter)
    return warpfold.torch.all_reduce(mean_loss, group).result()


def squared_error(model, batch):
    examples, targets = batch
    return (model(examples)[:, 0] - targets) ** 2


def train(batches, steps=3):
    """A small model after some steps of gradient descent on all ranks' batches, and its last mean loss."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1))
    for _ in range(steps):
        loss = mean_gradients(model, batches, squared_error)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
    return model, loss


def make_batches(count, size=4):
    draw = torch.Generator().manual_seed(2)
    for _ in range(count):
        examples = torch.randn(size, 5, generator=draw)
        yield examples, examples.sum(1).sin()


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, size = distributed.get_rank(), distributed.get_world_size()
    model, loss = train(list(make_batches(24))[rank::size])
    if rank == 0:
        print(f"{size} ranks: loss {loss.hex()}, norm of the last gradients "
              f"{warpfold.torch.grad_norm(model.parameters()).hex()}")
    distributed.destroy_process_group()
