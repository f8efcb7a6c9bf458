// Asks the browser for a passkey, and sends what it gives with the form.
const form = document.querySelector("form[data-passkey]");
const options = JSON.parse(document.getElementById("passkey-options").textContent).publicKey;

async function given() {
  if (form.dataset.passkey === "create")
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    form.elements.credential.value = JSON.stringify(await given());
  } catch {
    // Refused by the person, unknown here, or a browser that has no passkeys.
    form.querySelector("[role=alert]").hidden = false;
    return;
  }
  form.submit();
});
