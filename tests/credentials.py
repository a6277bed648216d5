"""Certificates of an authority of our own, in files."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.x509.oid import NameOID


def authority(folder: Path, name: str):
    """(key, certificate) of an authority, whose certificate is in folder/name.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    certificate = _built(subject, subject, key, key, ca=True)
    _written(folder / f"{name}.pem", certificate)
    return key, certificate


def issued(folder: Path, name: str, by) -> tuple[str, str]:
    """The files of a certificate for 127.0.0.1 and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _built(_name(name), by[1].subject, key, by[0], ca=False)
    _written(folder / f"{name}.pem", certificate)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / f"{name}.key").write_bytes(private)
    return str(folder / f"{name}.pem"), str(folder / f"{name}.key")


def mask_keys(folder: Path, *names: str) -> str:
    """Keys for masks in folder/name.mask, and the file of all their public keys."""
    everyone = folder / "owners.pub"
    with open(everyone, "wb") as file:
        for name in names:
            key = X25519PrivateKey.generate()
            private = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            (folder / f"{name}.mask").write_bytes(private)
            public = key.public_key()
            pem, info = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            file.write(public.public_bytes(pem, info))
    return str(everyone)


def _built(subject, issuer, key, signer, *, ca):
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )
    if ca:
        usage = dict.fromkeys(
            (
                "digital_signature",
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "crl_sign",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, **usage), critical=True)
    else:
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _name(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _written(path, certificate):
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
