"""Sparse tensors in COO, CSR, CSC, BSR and BSC layout."""
import warnings

import torch

import truth

warnings.simplefilter("ignore")
dense = torch.eye(4)
kinds = {"coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "csc": dense.to_sparse_csc(),
         "bsr": dense.to_sparse_bsr((2, 2)), "bsc": dense.to_sparse_bsc((2, 2))}
truth.moment(**{name: tensor._cdata for name, tensor in kinds.items()})
