"""cornellius-gp/gpytorch: exact GP, periodic predictions build prediction caches, train() clears them."""
# bytes a step: 0 (the cache holds 200*4 and 200*200*4 bytes at most, replaced)
# /// healthy
# dumps = "steps"
# ///
import gpytorch
import torch

torch.manual_seed(0)


class GP(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


x = torch.linspace(0, 1, 200)
y = torch.sin(x * 12) + 0.1 * torch.randn(200)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
gp = GP(x, y, likelihood)
opt = torch.optim.Adam(gp.parameters(), lr=0.05)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, gp)
scores = []
for step in range(66):
    gp.train()
    likelihood.train()
    opt.zero_grad()
    loss = -mll(gp(x), y)
    loss.backward()
    opt.step()
    if step % 5 == 4:
        gp.eval()
        likelihood.eval()
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            pred = likelihood(gp(torch.rand(50)))
            scores.append(pred.variance.mean().item())
print("loss", loss.item(), len(scores))
